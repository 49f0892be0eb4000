"""What collecting and converting both need to know of the machine they run on."""
