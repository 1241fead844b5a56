# Sourced by the scripts: installs a missing tool from Debian's packages, or says in one sentence what to install; ends
# what waits for a silent server.

bounded() { # bounded SECONDS PROGRAM...: status 124 when it had to be ended
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then
        timeout --foreground --kill-after=10 "$seconds" "$@" </dev/null
    else
        "$@" </dev/null
    fi
}

apt_get() {
    bounded 300 env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
        -o Acquire::Retries=1 -o DPkg::Lock::Timeout=60 "$@"
}

need_tool() { # need_tool COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 && return 0
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "installing $2"
        apt_get install "$2" >/dev/null 2>&1 || {
            apt_get update >/dev/null 2>&1 && apt_get install "$2" >/dev/null
        } || true
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
