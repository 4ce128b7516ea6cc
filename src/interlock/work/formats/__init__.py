"""Text formats that several systems read or write.

markdown      the outline of a Markdown text
front_matter  the YAML at the head of a Markdown file
quoting       text of others, made safe to show
hashing       the hash of a text
times         times as texts, days and seconds
"""
