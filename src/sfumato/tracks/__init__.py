"""Protect traces: noise correlated like movement, places withheld, certificates, attackers, answers."""
