"""The exact losses of Gaussian noise on a trace, and their bounds."""
