# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pushback_global_optspecs
    string join \n pr= repo= C= json dry-run q/quiet v/verbose api-url= h/help V/version
end

function __fish_pushback_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pushback_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pushback_using_subcommand
    set -l cmd (__fish_pushback_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pushback -n "__fish_pushback_needs_command" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_needs_command" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_needs_command" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_needs_command" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_needs_command" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_needs_command" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_needs_command" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_needs_command" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_needs_command" -s V -l version -d 'Print version'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "init" -d 'Writes a `.pushback.toml` that fits, after showing it'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "run" -d 'Runs rounds until nothing P1/P2 is open, or a named stop'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "status" -d 'Shows findings, reviewers and gate; writes nothing'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "triage" -d 'Lets a person decide at the keyboard, finding by finding'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "next" -d 'Says the one next thing to do, with all it needs'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "resolve" -d 'Answers findings for an agent that edits and pushes itself'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "gate" -d 'Judges whether the pull request may be merged'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "show" -d 'Shows one finding with its code, hunk, thread and history'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "explain" -d 'Says which rule gave a finding its severity, and on which text'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "classify" -d 'Classifies review comments from stdin, offline'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "doctor" -d 'Says what a run needs and lacks, and how to mend it'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "trust" -d 'Lets this worktree\'s `.pushback.toml` apply as it is now'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "config" -d 'Shows the configuration in force'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "completions" -d 'Prints a completion script'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "man" -d 'Prints the man page'
complete -c pushback -n "__fish_pushback_needs_command" -f -a "hook" -d 'The post-push hook, and answers to a coding agent\'s hooks'
complete -c pushback -n "__fish_pushback_using_subcommand init" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand init" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand init" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand init" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand init" -l yes -d 'Agrees without being asked'
complete -c pushback -n "__fish_pushback_using_subcommand init" -l hook -d 'Installs the post-push hook too, as `pushback hook install` does'
complete -c pushback -n "__fish_pushback_using_subcommand init" -l agent-skill -d 'Writes a skill for coding agents too, and a paragraph in AGENTS.md'
complete -c pushback -n "__fish_pushback_using_subcommand init" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand init" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand init" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand init" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand run" -l until -d 'Goes on until CI is green and the pull request can be merged too' -r -f -a "ready\t'The gate\'s CI and merge clauses too'"
complete -c pushback -n "__fish_pushback_using_subcommand run" -l wait -d 'Waits for reviewers and CI at most this long; without a terminal the default is not at all' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l more -d 'Allows this many rounds beyond the limit' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l spec -d 'Takes the spec from this file' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand run" -l yes -d 'Consents to posting in this repository'
complete -c pushback -n "__fish_pushback_using_subcommand run" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand run" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand run" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand run" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand status" -l comments -d 'Reads inline comments from a file, as `gh api repos/O/R/pulls/N/comments` prints them; `-` is stdin' -r
complete -c pushback -n "__fish_pushback_using_subcommand status" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand status" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand status" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand status" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand status" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand status" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand status" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand status" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand triage" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand triage" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand triage" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand triage" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand triage" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand triage" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand triage" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand triage" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand triage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand next" -l max-age -d 'Answers from the last reading if that is younger than this, without asking the forge; says how old it is' -r
complete -c pushback -n "__fish_pushback_using_subcommand next" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand next" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand next" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand next" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand next" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand next" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand next" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand next" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand next" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l reason -d 'Why, in 40 to 2,000 characters that speak of the finding; `-` reads it from stdin' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l commit -d 'The commit that fixes it; HEAD otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l place -d 'Another place that the fix changed, for example `src/a.rs:10-14`; may be repeated' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l plan-title -d 'Title of the follow-up plan' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l step -d 'A first step of the plan; may be repeated' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l yes -d 'Consents to posting in this repository'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand resolve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l wait -d 'Waits at most this long while time alone can help' -r
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand gate" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l verify -d 'Runs the verify commands when this head was not verified here'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l publish -d 'Publishes the verdict as a commit status (`gate.status`) on the judged commit, so that a branch rule can require it'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand gate" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand show" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand show" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand show" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand show" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand show" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand show" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand show" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand show" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand show" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand explain" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand explain" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand explain" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand explain" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand explain" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand explain" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand explain" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand explain" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand explain" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand classify" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand classify" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand classify" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand classify" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand classify" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand classify" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand classify" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand classify" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand classify" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand trust" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l yes -d 'Agrees without being asked'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand trust" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand config; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Shows every value'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l origin -d 'Shows where each value comes from'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand completions" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand completions" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand completions" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand completions" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand completions" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand completions" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand completions" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand completions" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand completions" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand man" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand man" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand man" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand man" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand man" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand man" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand man" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand man" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand man" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -f -a "install" -d 'Installs the post-push hook in this repository; hooks that are there are chained'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -f -a "uninstall" -d 'Removes the post-push hook and everything it kept; hooks that were there before are put back'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -f -a "status" -d 'Shows where the hook is installed and the runs it started, with their logs'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status agent" -f -a "agent" -d 'Answers a hook call of Claude Code or Codex on stdin: exit 2 shows the findings after a push; on Stop it keeps the agent going once'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -l pr -d 'Pull request, by number or URL; found by the branch otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -l repo -d 'Repository; found by the branch\'s remote otherwise' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -s C -d 'Works in this folder' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -l api-url -d 'REST API base, for example `https://ghe.example/api/v3`' -r
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -l json -d 'Prints one JSON object on stdout'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -l dry-run -d 'Prints every planned write with its exact text and does nothing'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -s q -l quiet -d 'Tells warnings only'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -s v -l verbose -d 'Tells more; the editor\'s output too'
complete -c pushback -n "__fish_pushback_using_subcommand hook; and __fish_seen_subcommand_from agent" -s h -l help -d 'Print help'
