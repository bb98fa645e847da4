"""From real objects to values, and the guards that keep that true."""
