"""The routes of the API, one module for each part. Start with `boards`."""
