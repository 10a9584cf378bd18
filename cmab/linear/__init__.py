"""Statistics of models with means that are functions of known features of the arms."""
