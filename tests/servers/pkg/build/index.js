// started by its list
