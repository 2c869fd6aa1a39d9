"""What people look at: reports and notebooks."""
