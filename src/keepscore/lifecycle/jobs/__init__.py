"""What the keeper does, one module for each job. Start with `base`."""
