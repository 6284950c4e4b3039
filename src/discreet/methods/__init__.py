"""Ways to train and rank, one file each, named as their paper names them."""
