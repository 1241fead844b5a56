# Fares of the ferry. Sourced; prices in cents.

# fare PRICE AGE -> prints what one passenger pays
fare() {
    if [ "$2" -gt 12 ]; then
        echo $(($1 / 2))
    else
        echo "$1"
    fi
}

# total PRICE AGE... -> prints what a group pays
total() {
    price=$1
    shift
    sum=0
    for age in "$@"; do
        sum=$((sum + $(fare "$price" "$age")))
    done
    echo "$sum"
}
