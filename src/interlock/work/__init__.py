"""The five systems, and what is done with them. It may import everything but `faces`."""
