"""Networks in torch that turn words into scores: encoders, scorers, models and training losses."""
