"""What the keeper does, one module for each job."""
