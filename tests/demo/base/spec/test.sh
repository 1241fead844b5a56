#!/bin/sh
# The spec: run from the top of the project.
. ./src/fare.sh
failed=0
check() {
    if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1: expected $3, got $2"; failed=1; fi
}
check "an adult pays the full price" "$(fare 1000 30)" 1000
[ "$failed" = 0 ] && echo "all passed"
exit "$failed"
