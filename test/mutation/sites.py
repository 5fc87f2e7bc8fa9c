# SPDX-License-Identifier: GPL-2.0-only
"""Sites of a source where a mistake can be planted, found in libclang's syntax tree.

A site replaces the text of one expression or statement by a text with both forms, of which a condition selects one.
"""

import re

from clang import cindex
from clang.cindex import CursorKind as Kind

# Operators and what a mistake makes of them.
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "*": "/", "/": "*", "<<": ">>", ">>": "<<", "%": "/"}
KEPT = {"|", "&"}  # operators; a mistake drops one side

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION_FUNCTION,
             Kind.FUNCTION_TEMPLATE, Kind.LAMBDA_EXPR}
# Evaluated by the compiler, or not at all.
CONSTANT = {Kind.ENUM_DECL, Kind.STATIC_ASSERT, Kind.CXX_UNARY_EXPR, Kind.TEMPLATE_TYPE_PARAMETER,
            Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.PARM_DECL, Kind.TYPE_ALIAS_DECL, Kind.TYPEDEF_DECL,
            Kind.CXX_TYPEID_EXPR, Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION}
BRACED = {Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.CXX_FOR_RANGE_STMT, Kind.DO_STMT}

NUMBER = re.compile(rb"(0[xX][0-9a-fA-F']+|[0-9][0-9']*)([uUlLzZ]*)$")


class Site:
    """A place where a mistake can be planted. `form` has `{on}` for the condition."""

    def __init__(self, begin, end, operator, change, form, compiled):
        self.begin = begin  # byte offsets
        self.end = end
        self.operator = operator
        self.change = change
        self.form = form
        self.compiled = compiled  # why nothing can be planted, or ""


class Scanner:
    """Collects the sites of one source."""

    def __init__(self, path, arguments):
        with open(path, "rb") as file:
            self.text = file.read()
        self.path = path
        self.unit = cindex.Index.create().parse(
            path, args=arguments, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        self.errors = [str(line) for line in self.unit.diagnostics if line.severity >= cindex.Diagnostic.Error]
        self.sites = []
        self.macros = []
        for cursor in self.unit.cursor.get_children():
            if not self._is_here(cursor):
                continue
            if cursor.kind == Kind.MACRO_INSTANTIATION or cursor.kind == Kind.MACRO_DEFINITION:
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset))
        for cursor in self.unit.cursor.get_children():
            if self._is_here(cursor) and not cursor.kind.is_preprocessing():
                self._visit(cursor, None, "outside of functions", False)

    def _is_here(self, cursor):
        file = cursor.location.file
        return file is not None and file.name == self.path

    def _span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def _words(self, begin, end):
        return self.text[begin:end]

    def _visit(self, cursor, parent, fixed, constexpr):
        """Visits a node and its children. `fixed`: why nothing here can be planted, or ""."""
        kind = cursor.kind
        if kind in CONSTANT:
            fixed = fixed or "evaluated by the compiler"
        if kind in FUNCTIONS:
            if kind != Kind.LAMBDA_EXPR and not cursor.is_definition():
                return
            begin, end = self._span(cursor)
            body = [child for child in cursor.get_children() if child.kind == Kind.COMPOUND_STMT]
            head = self._words(begin, body[0].extent.start.offset if body else end)
            words = re.findall(rb"\w+", head)
            constexpr = b"constexpr" in words or constexpr and kind == Kind.LAMBDA_EXPR
            fixed = "evaluated by the compiler" if b"consteval" in words else ""
            for child in cursor.get_children():
                if child.kind == Kind.COMPOUND_STMT or kind == Kind.CONSTRUCTOR and child.kind.is_expression():
                    self._visit(child, cursor, fixed, constexpr)
            return
        if kind == Kind.VAR_DECL:
            begin, end = self._span(cursor)
            if re.search(rb"\b(constexpr|consteval|constinit)\b", self._words(begin, end).split(b"=")[0].split(b"{")[0]):
                fixed = fixed or "evaluated by the compiler"
        if kind == Kind.FIELD_DECL:
            fixed = "evaluated by the compiler" if cursor.is_bitfield() else ""
        if kind in (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE, Kind.UNION_DECL):
            fixed = "outside of functions"
        self._offer(cursor, parent, fixed, constexpr)
        children = list(cursor.get_children())
        for index, child in enumerate(children):
            self._visit(child, cursor,
                        fixed or ("evaluated by the compiler" if kind == Kind.CASE_STMT and index == 0 else ""), constexpr)

    def _add(self, begin, end, operator, change, form, fixed):
        """Adds a site, unless a macro or a comment makes its text unclear."""
        text = self._words(begin, end)
        if not text or b"//" in text or b"#" in text or any(first < end and begin < last for first, last in self.macros):
            return
        self.sites.append(Site(begin, end, operator, change, form, fixed))

    def _offer(self, cursor, parent, fixed, constexpr):
        kind = cursor.kind
        begin, end = self._span(cursor)
        if end <= begin or not self._is_here(cursor):
            return
        on = "::criu_mutation::when({number})" if constexpr else "::criu_mutation::on({number})"
        text = self._words(begin, end).decode("utf-8", "replace")
        short = " ".join(text.split())

        def add(operator, changed, form=None, what=None):
            self._add(begin, end, operator, what or f"{short} → {' '.join(changed.split())}",
                      (form or "({on} ? ({changed}) : ({text}))").replace("{on}", on).replace("{changed}", changed)
                      .replace("{text}", text), fixed)

        if kind in (Kind.BINARY_OPERATOR, Kind.CALL_EXPR) and self._binary(cursor, add, begin, end, short):
            pass
        elif kind == Kind.INTEGER_LITERAL:
            found = NUMBER.match(text.encode())
            if found:
                value = int(found[1].replace(b"'", b""), 0) if not re.match(rb"0[0-9]", found[1]) else None
                if value is not None and value < 1 << 62:
                    suffix = found[2].decode()
                    for other in {value + 1, value - 1} - {-1}:
                        add("change a number", f"{other}{suffix}")
        elif kind == Kind.CXX_BOOL_LITERAL_EXPR and text in ("true", "false"):
            add("return the other bool" if parent is not None and parent.kind == Kind.RETURN_STMT else "the other bool",
                "false" if text == "true" else "true")
        elif kind == Kind.UNARY_OPERATOR and re.match(r"![^=]", text):
            add("drop a negation", text[1:], "({on} ? static_cast<bool>({changed}) : ({text}))")
        self._condition(cursor, fixed, on)
        self._statement(cursor, parent, add, begin, end)

    def _binary(self, cursor, add, begin, end, short):
        """Offers mistakes of a binary operator. Returns whether the node is one."""
        children = list(cursor.get_children())
        if cursor.kind == Kind.CALL_EXPR:
            if not cursor.spelling.startswith("operator") or len(children) != 3:
                return False
            left, right = children[0], children[2]
            if cursor.spelling in ("operator()", "operator[]", "operator=", "operator+", "operator<<", "operator>>", "operator->"):
                return False
        else:
            if len(children) != 2:
                return False
            left, right = children
        middle = (left.extent.end.offset, right.extent.start.offset)
        if not (begin == left.extent.start.offset and right.extent.end.offset == end and middle[0] <= middle[1]):
            return False
        sign = self._words(*middle).strip().decode("utf-8", "replace")
        first = self._words(begin, middle[0]).decode("utf-8", "replace")
        second = self._words(middle[1], end).decode("utf-8", "replace")
        if sign in SWAPS:
            if sign == "+" and '"' in first + second:
                return False
            # Parentheses keep the tree of the expression: && binds tighter than ||.
            changed = f"({first}) {SWAPS[sign]} ({second})" if sign in ("&&", "||", "*", "%", "/") else f"{first} {SWAPS[sign]} {second}"
            add(f"{sign} becomes {SWAPS[sign]}", changed, what=f"{short} → {' '.join(f'{first} {SWAPS[sign]} {second}'.split())}")
            if sign in ("<", ">", "<=", ">="):
                other = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}[sign]
                add(f"{sign} becomes {other}", f"{first} {other} {second}")
            if sign in ("+", "-") and re.fullmatch(r"\d+", second):
                add(f"{sign}{second} becomes +0", first)
            return True
        if sign in KEPT:
            add(f"drop a part of {sign}", first)
            add(f"drop a part of {sign}", second)
            return True
        return sign in ("=",)

    def _condition(self, cursor, fixed, on):
        """Offers the negation of the condition of a statement."""
        kind = cursor.kind
        children = list(cursor.get_children())
        if kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR) and children:
            condition = children[0]
        elif kind == Kind.DO_STMT and len(children) == 2:
            condition = children[1]
        else:
            return
        if not (condition.kind.is_expression() or condition.kind == Kind.UNEXPOSED_EXPR):
            return
        begin, end = self._span(condition)
        if kind != Kind.CONDITIONAL_OPERATOR:
            head = self._words(cursor.extent.start.offset, begin)
            if kind != Kind.DO_STMT and (b";" in head or b"constexpr" in head or not head.strip().endswith(b"(")):
                return
        text = self._words(begin, end).decode("utf-8", "replace")
        short = " ".join(text.split())
        name = {Kind.IF_STMT: "if", Kind.WHILE_STMT: "while", Kind.DO_STMT: "do while"}.get(kind, "?:")
        self._add(begin, end, f"negate a condition ({name})", f"{short} → !({short})", f"({on} != static_cast<bool>({text}))", fixed)

    def _statement(self, cursor, parent, add, begin, end):
        """Offers to leave a statement out."""
        if parent is None or parent.kind not in BRACED:
            return
        kind = cursor.kind
        inner = cursor
        while inner.kind == Kind.UNEXPOSED_EXPR and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        siblings = list(parent.get_children())
        if parent.kind != Kind.COMPOUND_STMT and siblings.index(cursor) == 0:
            return  # a condition
        if self.text[end:end + 1] != b";":
            return  # a part of a for statement
        text = self._words(begin, end).decode("utf-8", "replace")
        short = " ".join(text.split())
        if inner.kind == Kind.CALL_EXPR or kind == Kind.CONTINUE_STMT or kind == Kind.BREAK_STMT \
                or kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR):
            what = {Kind.CONTINUE_STMT: "drop continue", Kind.BREAK_STMT: "drop break",
                    Kind.BINARY_OPERATOR: "drop an assignment",
                    Kind.COMPOUND_ASSIGNMENT_OPERATOR: "drop an assignment"}.get(kind, "drop a call")
            add(what, "", "if ({on}) {} else {text}", f"{short}; → ;")
        elif kind == Kind.RETURN_STMT and text == "return":
            add("drop return", "", "if ({on}) {} else {text}", "return; → ;")
