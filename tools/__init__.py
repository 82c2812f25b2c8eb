"""Development tools of the repository. Not shipped."""
