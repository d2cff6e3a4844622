"""The pages in a real Chromium, driven by Playwright."""
