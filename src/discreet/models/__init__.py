"""News and reader encoders, one file per published model, behind one small interface."""
