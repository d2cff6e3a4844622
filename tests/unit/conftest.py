from hypothesis import settings

# Time limits for single examples fail on busy machines and say nothing about the code.
settings.register_profile("keepscore", deadline=None)
settings.load_profile("keepscore")
