"""One module for each part of the documentation that is made from the code; `docs.generate` calls them.

The film of the demo is made apart, by `make recording`: recording → pace → screens → film.
"""
