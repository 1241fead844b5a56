# Sourced by the scripts: installs a missing tool from Debian's packages, or says in one sentence what to install.

need_tool() { # need_tool COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 && return 0
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "installing $2"
        apt-get install -y -q "$2" >/dev/null 2>&1 || {
            apt-get update -q >/dev/null 2>&1 && apt-get install -y -q "$2" >/dev/null
        }
    fi
    command -v "$1" >/dev/null 2>&1 || {
        echo "$1 is missing: install the package $2 and run this again" >&2
        exit 1
    }
}

need_cargo() {
    command -v cargo >/dev/null 2>&1 || [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
    command -v cargo >/dev/null 2>&1 || {
        echo "cargo is missing: install Rust (1.89 or later) and run this again" >&2
        exit 1
    }
}
