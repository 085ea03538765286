/* completion.c - heddle completion: shell scripts that complete heddle's command lines by calling complete.c */
#include "cli/cli.h"

#include <string.h>

/* bash splits words at "=" and ":", heddle does not: the parts are joined again, and the part before the one that bash
 * completes is removed from each completion. */
static const char bash_script[] =
    "# bash completion of heddle: eval \"$(heddle completion bash)\"\n"
    "_heddle() {\n"
    "    local words=() part=${COMP_WORDS[COMP_CWORD]} word text file i\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        if ((${#words[@]})) && [[ ${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i-1]} == [=:] ]]; then\n"
    "            words[${#words[@]}-1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            words+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    [[ $part == [=:] ]] && part=\n"
    "    local begun=$((${#words[-1]} - ${#part}))\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r word text; do\n"
    "        case $word in\n"
    "        :files)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            while IFS= read -r file; do\n"
    "                if [[ -z $text || -d ${file/#\\~/$HOME} || $file == *.@($text) ]]; then COMPREPLY+=(\"$file\"); "
    "fi\n"
    "            done < <(compgen -f -- \"$part\")\n"
    "            ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- \"$part\") ;;\n"
    "        :folders)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t COMPREPLY < <(compgen -d -- \"$part\") ;;\n"
    "        :programs) mapfile -t COMPREPLY < <(compgen -c -- \"$part\") ;;\n"
    "        *)\n"
    "            COMPREPLY+=(\"${word:begun}\")\n"
    "            [[ $word == *= ]] && compopt -o nospace 2>/dev/null ;;\n"
    "        esac\n"
    "    done < <(\"$1\" completion bash -- \"${words[@]}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _heddle heddle\n";

static const char zsh_script[] =
    "#compdef heddle\n"
    "# zsh completion of heddle: eval \"$(heddle completion zsh)\", or this text as _heddle in a folder of $fpath\n"
    "_heddle() {\n"
    "    local -a offered\n"
    "    local word text\n"
    "    while IFS=$'\\t' read -r word text; do\n"
    "        case $word in\n"
    "        :files) if [[ -n $text ]]; then _files -g \"*.($text)\"; else _files; fi ;;\n"
    "        :folders) _files -/ ;;\n"
    "        :programs) _command_names -e ;;\n"
    "        *) offered+=(\"${word//:/\\\\:}:$text\") ;;\n"
    "        esac\n"
    "    done < <(\"$words[1]\" completion zsh -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    (($#offered)) && _describe -V heddle offered\n"
    "}\n"
    "if [[ $funcstack[1] == _heddle ]]; then _heddle \"$@\"; else compdef _heddle heddle; fi\n";

static const char fish_script[] = "# fish completion of heddle: heddle completion fish | source\n"
                                  "function __heddle_complete\n"
                                  "    set -l words (commandline -opc) (commandline -ct)\n"
                                  "    for line in ($words[1] completion fish -- $words[2..-1] 2>/dev/null)\n"
                                  "        switch $line\n"
                                  "            case ':files*'\n"
                                  "                __fish_complete_path (commandline -ct)\n"
                                  "            case ':folders*'\n"
                                  "                __fish_complete_directories (commandline -ct)\n"
                                  "            case ':programs*'\n"
                                  "                complete -C (commandline -ct)\n"
                                  "            case '*'\n"
                                  "                echo $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c heddle -f -a '(__heddle_complete)'\n";

static int run(cli_run *run)
{
    static const struct {
        const char *name, *script;
    } shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(run->operands[0], shells[i].name) != 0) continue;
        if (run->operand_count > 1)
            cli_complete(run, run->operands + 1, run->operand_count - 1);
        else
            cli_print(run, "%s", shells[i].script);
        return CLI_OK;
    }
    return cli_usage_error(run, "'%.60s' is not a shell that is known: bash, zsh or fish", run->operands[0]);
}

const cli_command cmd_completion = {
    .name = "completion",
    .group = CLI_ABOUT,
    .summary = "complete commands, options and files in bash, zsh or fish",
    .usage = "bash|zsh|fish [-- WORD...]",
    .offer = "bash zsh fish",
    .description =
        "Prints the completion script of a shell. An installed heddle includes it: shells find it in "
        "share/bash-completion/completions, share/zsh/site-functions and share/fish/vendor_completions.d.\n\n"
        "With WORDs, the words after heddle on a command line, it prints the candidates for the last one: a line "
        "each, the word, a tab, and its description.",
    .examples = (const cli_example[]){{"eval \"$(heddle completion bash)\"", "in ~/.bashrc"},
                                      {"eval \"$(heddle completion zsh)\"", "in ~/.zshrc, after compinit"},
                                      {"heddle completion fish | source", "in ~/.config/fish/config.fish"},
                                      {"heddle completion bash -- flame --by \"\"", "what there is for --by"},
                                      {0}},
    .operands_min = 1,
    .operands_max = -1,
    .run = run,
};
