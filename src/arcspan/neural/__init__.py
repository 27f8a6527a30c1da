"""Words to scores, in torch: encoders, scorers, models and losses."""
