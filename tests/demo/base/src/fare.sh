# Fares of the ferry. Sourced; prices in cents.

# fare PRICE AGE -> prints what one passenger pays
fare() {
    echo "$1"
}
