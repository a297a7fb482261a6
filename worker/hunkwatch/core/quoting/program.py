"""What a program in JavaScript or Python calls with which literals, read from its tokens without running it.

Followed: literals, their concatenation, lists and objects of them, names they are assigned to, loops over a list of them, and the
string methods that people build patches with. Everything else is ``DYNAMIC``. One pass; nesting and the text that is built are bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hunkwatch.core.quoting import DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Dynamic:
    """The value that only running the program would tell."""


class Each(NamedTuple):
    """One after the other: what a loop variable stands for."""

    values: list[object]


class Token(NamedTuple):
    """``text``, ``name``, ``number`` or ``sign``; a template is ``open``, texts, expressions in ``${`` and ``}$``, ``close``."""

    kind: str
    value: str


class Made(NamedTuple):
    """A call: the dotted name of what is called, its arguments, and its arguments by name."""

    name: str
    arguments: list[object]
    keywords: dict[str, object]


TOKENS = 100_000
"""How many tokens of a source are read."""
DYNAMIC: Final = Dynamic()
_END = Token("end", "")
_SKIPPED = frozenset({"await", "return", "yield", "new", "async", "const", "let", "var", "export", "void", "try"})
_DEFINING = frozenset({"def", "function", "class", "interface", "import", "from"})
_JOINING = frozenset({"if", "else", "and", "or", "in", "is", "not", "instanceof"})
_LITERALS: dict[str, object] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None}
_STOPS = frozenset({",", ")", "]", "}", ";", "}$"})
_STRIPS: dict[str, Callable[[str], str]] = {
    "trim": str.strip,
    "strip": str.strip,
    "trimStart": str.lstrip,
    "lstrip": str.lstrip,
    "trimEnd": str.rstrip,
    "rstrip": str.rstrip,
    "toString": str,
    "encode": str,
    "valueOf": str,
}
_VISITS = frozenset({"map", "forEach", "flatMap"})
_ADDS = frozenset({"push", "append"})
_SAME = frozenset({"String", "str", "cleandoc", "print"})


def calls(tokens: Sequence[Token], *, length: int) -> list[Made]:
    """Return every call in the program, in the order of their closing brackets. ``length`` is that of the source."""
    reader = _Reader(tokens, 4 * length + 1000)
    while reader.at < len(tokens):
        first = reader.at
        reader.statement()
        reader.at = max(reader.at, first + 1)
    return reader.made


def unread(source: str, at: int) -> list[Made]:
    """Return a call of the patch tool that nothing is known of, where one stands behind the last token that was read."""
    return [Made("apply_patch", [DYNAMIC], {})] if source.find("apply_patch(", at) >= 0 else []


class _Reader:
    def __init__(self, tokens: Sequence[Token], budget: int) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.budget = budget
        self.names: dict[str, object] = {}
        self.visited: list[object] | None = None
        self.made: list[Made] = []

    def peek(self, ahead: int = 0) -> Token:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else _END

    def is_sign(self, sign: str, ahead: int = 0) -> bool:
        at = self.at + ahead
        if at >= len(self.tokens):
            return False
        kind, value = self.tokens[at]
        return value == sign and kind == "sign"

    # ------------------------------------------------------------ statements

    def statement(self) -> None:
        while self.peek().kind == "name" and self.peek().value in _SKIPPED:
            self.at += 1
        token = self.peek()
        if token.kind == "name" and token.value in _DEFINING:
            self.at += 2
        elif token == ("name", "for"):
            self._loop()
        elif token.kind == "name" and self.peek(1).kind == "sign" and self.peek(1).value in {"=", "+=", ":="}:
            self._assign(token.value, behind=2, adds=self.peek(1).value == "+=")
        elif token.kind == "name" and self.is_sign(":", 1) and self.peek(2).kind == "name" and self.is_sign("=", 3):
            self._assign(token.value, behind=4, adds=False)
        else:
            self.expression()

    def _assign(self, name: str, *, behind: int, adds: bool) -> None:
        self.at += behind
        value = self.whole()
        self.names[name] = self._plus(self.names.get(name, DYNAMIC), value) if adds else value

    def _loop(self) -> None:
        """Read the head of a loop over a list, in either language."""
        self.at += 1
        while self.is_sign("(") or self.peek().value in _SKIPPED:
            self.at += 1
        name = self.peek()
        if name.kind == "name" and self.peek(1) in {("name", "of"), ("name", "in")}:
            self.at += 2
            value = self.expression()
            self.names[name.value] = Each(value) if isinstance(value, list) else DYNAMIC

    # ------------------------------------------------------------ expressions

    def whole(self) -> object:
        """Read an expression up to what ends it. What cannot be followed makes it dynamic, but its calls are still seen."""
        value = self.expression()
        while self.at < len(self.tokens) and not (self.peek().kind == "sign" and self.peek().value in _STOPS):
            if self.peek().kind == "name" and self.tokens[self.at - 1].kind != "sign" and self.peek().value not in _JOINING:
                break
            value = DYNAMIC
            first = self.at
            self.expression()
            self.at = max(self.at, first + 1)
        return value

    def expression(self) -> object:
        """Read operands joined by plus signs."""
        if self.depth > DEPTH:
            self.at += 1
            return DYNAMIC
        self.depth += 1
        value = self._operand()
        while self.is_sign("+"):
            self.at += 1
            value = self._plus(value, self._operand())
        self.depth -= 1
        return value

    def _plus(self, left: object, right: object) -> object:
        if isinstance(left, str) and isinstance(right, str):
            return self._built(left + right) if self.budget > 0 else DYNAMIC
        if isinstance(left, list) and isinstance(right, list):
            self.budget -= len(left) + len(right)
            return left + right if self.budget > 0 else DYNAMIC
        return DYNAMIC

    def _built(self, text: str) -> object:
        self.budget -= len(text)
        return text if self.budget > 0 else DYNAMIC

    def _operand(self) -> object:
        while self.peek().kind == "name" and self.peek().value in _SKIPPED:
            self.at += 1
        token = self.peek()
        if token.kind == "name" and token.value in _DEFINING:
            self.at += 2
            return DYNAMIC
        name = token.value if token.kind == "name" else ""
        return self._behind(self._primary(token), name)

    def _primary(self, token: Token) -> object:
        self.at += 1
        if token.kind == "text":
            return self._texts(token.value)
        if token.kind == "open":
            return self._template()
        if token.kind == "name":
            if self.is_sign("=>"):
                self._bind(token.value)
                return DYNAMIC
            return _LITERALS[token.value] if token.value in _LITERALS else self.names.get(token.value, DYNAMIC)
        if token == ("sign", "("):
            return self._parenthesis()
        if token == ("sign", "["):
            return self._list("]")
        if token == ("sign", "{"):
            return self._object()
        if token.kind == "sign" and token.value in _STOPS:
            self.at -= 1
        return DYNAMIC

    def _texts(self, text: str) -> object:
        """Read literals that stand side by side, which Python joins."""
        pieces = [text]
        while self.peek().kind == "text":
            pieces.append(self.peek().value)
            self.at += 1
        return text if len(pieces) == 1 else self._built("".join(pieces))

    def _template(self) -> object:
        pieces: list[str] = []
        known = True
        while self.at < len(self.tokens) and self.peek().kind != "close":
            token = self.peek()
            self.at += 1
            if token.kind == "text":
                pieces.append(token.value)
            elif token == ("sign", "${"):
                value = self.whole()
                self.at += self.is_sign("}$")
                known = known and isinstance(value, str)
                pieces.append(value if isinstance(value, str) else "")
        self.at += 1
        if not known:
            return DYNAMIC
        return pieces[0] if len(pieces) == 1 else self._built("".join(pieces))

    def _parenthesis(self) -> object:
        if self.peek().kind == "name" and self.peek(1).kind == "sign" and self.peek(1).value in {")", ","}:
            ahead = 1
            while self.peek(ahead).kind == "name" or self.peek(ahead) == ("sign", ","):
                ahead += 1
            if self.is_sign(")", ahead) and self.is_sign("=>", ahead + 1):
                self._bind(self.peek().value)
                self.at += ahead + 1
                return DYNAMIC
        values = self._list(")")
        return values[0] if len(values) == 1 else values

    def _bind(self, name: str) -> None:
        """Let the parameter of a function that visits a list stand for its items."""
        self.names[name] = DYNAMIC if self.visited is None else Each(self.visited)
        self.visited = None

    def _list(self, close: str) -> list[object]:
        values: list[object] = []
        while self.at < len(self.tokens) and not self.is_sign(close):
            if self.is_sign(","):
                self.at += 1
                continue
            first = self.at
            values.append(self.whole())
            if self.at == first:
                self.at += 1
        self.at += 1
        return values

    def _object(self) -> object:
        """Read an object, or a block of statements."""
        found: dict[str, object] = {}
        while self.at < len(self.tokens) and not self.is_sign("}"):
            token = self.peek()
            if self.is_sign(","):
                self.at += 1
            elif token.kind in {"name", "text"} and self.is_sign(":", 1):
                self.at += 2
                found[token.value] = self.whole()
            elif token.kind == "name" and self.peek(1).kind == "sign" and self.peek(1).value in {",", "}"}:
                self.at += 1
                found[token.value] = self.names.get(token.value, DYNAMIC)
            else:
                first = self.at
                if self.depth > DEPTH:
                    self.at += 1
                else:
                    self.depth += 1
                    self.statement()
                    self.depth -= 1
                self.at = max(self.at, first + 1)
        self.at += 1
        return found

    # ------------------------------------------------------------ behind an operand

    def _behind(self, value: object, name: str) -> object:
        while True:
            if self.is_sign(".") and self.peek(1).kind == "name":
                member = self.peek(1).value
                self.at += 2
                if self.is_sign("("):
                    value = self._method(value, member, f"{name}.{member}")
                elif self.peek().kind == "open" and member == "raw":
                    self.at += 1
                    value = self._template()
                else:
                    value = _member(value, member)
                name = f"{name}.{member}"
            elif self.is_sign("["):
                self.at += 1
                key = self._list("]")
                word = key[0] if len(key) == 1 and isinstance(key[0], str) else ""
                value, name = _member(value, word), f"{name}.{word}"
            elif self.is_sign("(") and name:
                self.at += 1
                value = self._call(name)
                name = ""
            elif self.peek().kind == "open" and name:
                self.at += 1
                value = self._template()
                name = ""
            else:
                return value

    def _method(self, value: object, member: str, name: str) -> object:
        self.at += 1
        if member in _VISITS and isinstance(value, list):
            self.visited = value
        made = self._arguments(name)
        argument = made.arguments[0] if made.arguments else None
        if member == "join":
            return self._joined(value, argument)
        if isinstance(value, str) and self.budget > 0:
            if member in _STRIPS and not made.arguments:
                return self._built(_STRIPS[member](value))
            if member == "concat" and isinstance(argument, str):
                return self._plus(value, argument)
        if member in _ADDS and isinstance(value, list):
            value.extend(made.arguments)
        return self._ran(made)

    def _joined(self, value: object, argument: object) -> object:
        """Join a list, the JavaScript or the Python way round."""
        items, glue = (argument, value) if isinstance(value, str) else (value, "," if argument is None else argument)
        if not isinstance(items, list) or not isinstance(glue, str):
            return DYNAMIC
        self.budget -= len(items)
        if self.budget < 0 or not all(isinstance(each, str) for each in items):
            return DYNAMIC
        if len(glue) * len(items) > self.budget:
            return DYNAMIC
        return self._built(glue.join([str(each) for each in items]))

    def _call(self, name: str) -> object:
        return self._ran(self._arguments(name))

    def _ran(self, made: Made) -> object:
        """Note a call; return its value where it only passes a text on."""
        last = made.name.rpartition(".")[2]
        if last in _SAME and len(made.arguments) == 1:
            return made.arguments[0]
        if last == "dedent" and made.arguments and isinstance(made.arguments[0], str) and self.budget > 0:
            return self._built(dedented(made.arguments[0]))
        self.made.append(made)
        return DYNAMIC

    def _arguments(self, name: str) -> Made:
        made = Made(name, [], {})
        while self.at < len(self.tokens) and not self.is_sign(")"):
            if self.is_sign(","):
                self.at += 1
                continue
            first = self.at
            if self.peek().kind == "name" and self.is_sign("=", 1):
                keyword = self.peek().value
                self.at += 2
                made.keywords[keyword] = self.whole()
            else:
                made.arguments.append(self.whole())
            if self.at == first:
                self.at += 1
        self.at += 1
        return made


def _member(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name, DYNAMIC)
    if isinstance(value, Each):
        return Each([_member(each, name) for each in value.values])
    return DYNAMIC


def dedented(text: str) -> str:
    """Return the text without the blanks that all its lines start with."""
    lines = text.split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return "\n".join(line[margin:] if line.strip() else "" for line in lines)
