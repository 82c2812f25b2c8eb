"""The operator's door: what the command line may ask of a service on the same machine."""
