#!/usr/bin/env python3
"""Which sources may share a translation unit: `BC_UNITY` builds.

Reads paths from standard input, prints `GROUP PATH` for each. Two files come
together only where no name that one keeps to itself (in an unnamed namespace,
by `using`, by `#define`) occurs in the other: more than the language asks for.
It reads words, not C++: what it overlooks the compiler tells.

  unity_groups.py SIZE < paths
"""
import re
import sys

TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])'|^[ \t]*\#[^\n]*(?:\\\n[^\n]*)*|[A-Za-z_]\w*|\d[\w.']*|->|::|[^\s\w]",
    re.S | re.M)
# What is no name in a declaration.
KEYWORDS = set('''alignas auto bool break case catch char class concept const
constexpr continue decltype default delete do double else enum explicit extern
false final float for friend if inline int long mutable namespace noexcept
nullptr operator override private protected public requires return short
signed sizeof static static_assert struct switch template this throw true try
typename union unsigned using virtual void volatile while std bc'''.split())


def tokens(text):
    for match in TOKENS.finditer(text):
        token = match.group()
        if token.startswith(('//', '/*', '"', 'R"', "'")):
            continue
        yield token.strip()


def private_names(words):
    """Names declared directly in unnamed namespaces, and what `using` brings."""
    out = set()
    scopes = []  # 'unnamed', 'namespace' or 'other'
    statement = []
    for i, word in enumerate(words):
        if word.startswith('#'):
            found = re.match(r'#\s*define\s+(\w+)', word)
            if found:
                out.add(found.group(1))
            continue
        if word == '{':
            kind = 'other'
            if statement[:1] == ['namespace']:
                kind = 'unnamed' if len(statement) == 1 else 'namespace'
            elif statement[:2] == ['inline', 'namespace']:
                kind = 'namespace'
            if kind == 'other' and at_top(scopes):
                out |= declared(statement, scopes)
                if statement[:1] == ['enum'] and 'unnamed' in scopes:
                    end = words.index('}', i)
                    out |= {w for w in words[i:end] if is_name(w)}
            scopes.append(kind)
            if kind != 'other':
                statement = []
            continue
        if word == '}':
            if scopes:
                kind = scopes.pop()
                if kind == 'other' and at_top(scopes):
                    # A function's body ends its statement; a value's does not.
                    following = words[i + 1] if i + 1 < len(words) else ''
                    if following not in (';', ',', ')', '.', '(', '['):
                        statement = []
                elif kind != 'other':
                    statement = []
            continue
        if not at_top(scopes):
            continue
        if word == ';':
            out |= declared(statement, scopes)
            statement = []
            continue
        statement.append(word)
    return out


def is_name(word):
    return re.match(r'[A-Za-z_]', word) and word not in KEYWORDS


def at_top(scopes):
    return 'other' not in scopes


def declared(statement, scopes):
    if not statement:
        return set()
    unnamed = 'unnamed' in scopes
    if statement[0] in ('using', 'namespace'):
        if statement[1:2] == ['namespace']:
            return {'using ' + ''.join(statement[2:])}
        name = statement[1] if '=' in statement else statement[-1]
        return {name + ' is ' + ''.join(statement[1:])}
    if not unnamed and 'static' not in statement:
        return set()
    # Every name outside of parentheses and before a value: types too, which
    # costs nothing but a group.
    depth, names = 0, set()
    last = None
    for word in statement:
        if word == '(' or word == '[':
            if depth == 0 and last:
                names.add(last)
            depth += 1
        elif word in (')', ']'):
            depth -= 1
        elif depth == 0:
            if word in ('=', ':'):
                break
            if re.match(r'[A-Za-z_]', word):
                last = word if is_name(word) else None
    if last:
        names.add(last)
    for kind in ('struct', 'class', 'enum', 'union'):
        if kind in statement:
            rest = [w for w in statement[statement.index(kind) + 1:]
                    if is_name(w)]
            if rest:
                names.add(rest[0])
    # A macro such as TEST_CASE declares names of its own.
    return {name for name in names if name.upper() != name}


def used_names(words):
    """Every name but those of members."""
    before = ''
    out = set()
    for word in words:
        if re.match(r'[A-Za-z_]', word) and before not in ('.', '->', '::'):
            out.add(word)
        before = word
    return out


def agree(aliases, used, other):
    """Whether each alias is the same there, or not spoken of."""
    for name, target in aliases.items():
        if name in other['aliases']:
            if other['aliases'][name] != target:
                return False
        elif name in other['used']:
            return False
    return True


def main():
    size = int(sys.argv[1])
    groups = []
    for path in sys.stdin.read().split():
        with open(path, encoding='utf-8') as f:
            words = list(tokens(f.read()))
        mine = private_names(words)
        directives = {n for n in mine if n.startswith('using ')}
        aliases = dict(n.split(' is ') for n in mine if ' is ' in n)
        mine = {n for n in mine if ' ' not in n}
        used = used_names(words)
        for group in groups:
            if (len(group['paths']) < size and
                    group['directives'] == directives and
                    not mine & group['used'] and not group['mine'] & used and
                    agree(aliases, used, group) and
                    agree(group['aliases'], group['used'],
                          {'aliases': aliases, 'used': used})):
                break
        else:
            group = {'paths': [], 'mine': set(), 'used': set(),
                     'directives': directives, 'aliases': {}}
            groups.append(group)
        group['aliases'].update(aliases)
        group['paths'].append(path)
        group['mine'] |= mine
        group['used'] |= used
    for number, group in enumerate(groups):
        for path in group['paths']:
            print(number, path)


main()
