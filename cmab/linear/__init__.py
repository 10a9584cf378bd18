"""Statistics of models whose means are functions of known features of the arms."""
