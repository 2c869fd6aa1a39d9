"""What an operator does beside watching: change campaigns, plan them, back the database up."""
