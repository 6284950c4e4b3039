"""Articles from a publisher's feed: fetched politely, read whatever is wrong with single entries, kept up to date."""
