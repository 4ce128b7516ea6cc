"""One module for each part of the documentation that is made from the code; `docs.generate` calls them."""
