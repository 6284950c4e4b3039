"""Raw data of readers, nodes and vendors is opened here. What leaves is a `Release` or a `Contribution`."""
