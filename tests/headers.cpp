// Compiles the header that every test includes first.
