"""The documentation: pages in Markdown, and the program that writes what can be made from the code."""
