"""Local information privacy as printed [Jiang2021]."""
