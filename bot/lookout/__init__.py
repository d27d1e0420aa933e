"""Looking ahead aside from the loop: what is asked, and who plays it forward."""
