# SPDX-License-Identifier: Apache-2.0
"""Finds the places of a C++ source that auto.py can mutate. The table OPERATORS lists the operators.

The syntax comes from libclang. Only bodies of functions are mutated, except in assert(), static_assert() and the
annotations ZKLOCK_..., and except functions whose name begins with `assert_`. Operators with two operands are told
from template brackets and references by the spaces around them, which clang-format sets.
"""
import re
from typing import NamedTuple

from clang import cindex

OPERATORS = {
    "compare": "replaces < by <=, > by >=, == by !=, and the reverse",
    "logic": "replaces && by ||, and the reverse",
    "drop_operand": "replaces `a && b`, or `a || b`, by one of its operands",
    "negate": "negates the condition of if, while and ?:, or a returned bool; or drops a `!`",
    "drop_condition": "replaces the condition of an if by true or by false, that of a while by false",
    "drop_statement": "deletes a call, an assignment, an increment or a throw that is a statement",
    "off_by_one": "adds 1 to an integer literal, or subtracts 1",
    "return_early": "returns at the begin of a function or before its last statement",
    "drop_lock": "deletes the declaration of a lock guard",
    "drop_await": "deletes `co_await`",
}

KIND = cindex.CursorKind
FUNCTIONS = {KIND.FUNCTION_DECL, KIND.CXX_METHOD, KIND.CONSTRUCTOR, KIND.DESTRUCTOR, KIND.CONVERSION_FUNCTION,
             KIND.FUNCTION_TEMPLATE}
SCOPES = {KIND.NAMESPACE, KIND.CLASS_DECL, KIND.STRUCT_DECL, KIND.CLASS_TEMPLATE, KIND.LINKAGE_SPEC,
          KIND.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION, KIND.UNEXPOSED_DECL}
LOOPS = {KIND.WHILE_STMT, KIND.FOR_STMT, KIND.CXX_FOR_RANGE_STMT}
NO_STATEMENTS = {KIND.CXX_STATIC_CAST_EXPR, KIND.CSTYLE_CAST_EXPR, KIND.CXX_FUNCTIONAL_CAST_EXPR, KIND.LAMBDA_EXPR}
COMPARISONS = {b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">", b"==": b"!=", b"!=": b"=="}
CONNECTIVES = {b"&&": b"||", b"||": b"&&"}
LOCK_GUARD = re.compile(rb"(?:const )?[\w:]*(?:Lock|lock_guard|unique_lock|scoped_lock)\b(?:<[^;]*?>)? \w+[({]")
ONE_EQUALITY = re.compile(rb"[^&|?]*? [!=]= [^&|?]*")
INTEGER = re.compile(rb"(\d[\d']*)([A-Za-z]*)")
# A dropped call of these functions changes no behaviour, apart from memory or from an assertion.
WITHOUT_EFFECT = re.compile(rb"(?:.*(?:\.|->|::))?(?:reserve|shrink_to_fit|assert_\w+)\(")
EXCLUDED_CALL = re.compile(r"assert|static_assert|noexcept|ZKLOCK_\w+")


class Mutant(NamedTuple):
    file: str
    line: int
    function: str
    operator: str
    begin: int  # the offsets, in bytes, of the text that is replaced
    end: int
    new: str
    original: str  # the lines of the edit, with single spaces
    mutated: str
    body_begin: int  # the offset of the body of the function, after its brace
    body_end: int  # the offset of the closing brace
    tail: str  # ends the mutated copy of the body
    copy: int  # counts mutants with an equal key before this one

    def key(self):
        """Returns what identifies the mutant in other versions of the file, where lines have moved."""
        copy = f" #{self.copy + 1}" if self.copy else ""
        return f"{self.file} | {self.function} | {self.operator}{copy} | {self.original} -> {self.mutated}"


class Function:
    """Collects the edits of one function."""

    def __init__(self, unit, cursor, body, text):
        self.cursor, self.body, self.text = cursor, body, text
        self.name = qualified_name(cursor)
        self.edits = set()  # (begin, end, new text, operator)
        tokens = list(unit.get_tokens(extent=body.extent))
        self.excluded = excluded_ranges(tokens)
        self.tokens(tokens)
        self.visit(body)
        self.early_returns(body)

    def source(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset]

    def add(self, begin, end, new, operator):
        if not any(first < end and begin < last for first, last in self.excluded):
            self.edits.add((begin, end, new, operator))

    def replace(self, cursor, new, operator):
        self.add(cursor.extent.start.offset, cursor.extent.end.offset, new, operator)

    def tokens(self, tokens):
        for token in tokens:
            begin, end = token.extent.start.offset, token.extent.end.offset
            sign = self.text[begin:end]
            if token.kind == cindex.TokenKind.LITERAL and (found := INTEGER.fullmatch(sign)):
                value = int(found[1].replace(b"'", b""))
                for other in {value + 1, max(value - 1, 0)} - {value}:
                    self.add(begin, end, str(other).encode() + found[2], "off_by_one")
            is_binary = self.text[begin - 1:begin].isspace() and self.text[end:end + 1].isspace()
            if is_binary and sign in COMPARISONS:
                self.add(begin, end, COMPARISONS[sign], "compare")
            if is_binary and sign in CONNECTIVES:
                self.add(begin, end, CONNECTIVES[sign], "logic")
            if sign == b"!":
                self.add(begin, end, b"", "negate")
            if sign == b"co_await":
                self.add(begin, end, b"", "drop_await")

    def visit(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind in (KIND.IF_STMT, KIND.WHILE_STMT):
            self.condition(cursor, children)
        elif cursor.kind == KIND.CONDITIONAL_OPERATOR and len(children) == 3:
            self.negate(children[0])
        elif cursor.kind == KIND.BINARY_OPERATOR and len(children) == 2:
            self.operands(cursor, children)
        elif cursor.kind == KIND.RETURN_STMT and children:
            if children[0].type.get_canonical().kind == cindex.TypeKind.BOOL:
                self.negate(children[0])
        elif cursor.kind == KIND.DECL_STMT and LOCK_GUARD.match(self.source(cursor)):
            self.replace(cursor, b"", "drop_lock")
        for index, child in enumerate(children):
            is_body = (cursor.kind == KIND.COMPOUND_STMT or (cursor.kind == KIND.IF_STMT and index > 0) or
                       (cursor.kind in LOOPS and index + 1 == len(children)))
            if is_body and child.kind.is_expression():
                self.statement(child)
            self.visit(child)

    def condition(self, cursor, children):
        while children and children[0].kind in (KIND.DECL_STMT, KIND.VAR_DECL):
            children = children[1:]
        begin = children[0].extent.start.offset
        # A condition that declares a variable remains: the variable is used.
        is_constexpr = self.source(cursor).startswith(b"if constexpr")
        if is_constexpr or not self.text[:begin].rstrip().endswith((b"(", b";")):
            return
        self.negate(children[0])
        for value in (b"true", b"false") if cursor.kind == KIND.IF_STMT else (b"false",):
            self.replace(children[0], value, "drop_condition")

    def negate(self, cursor):
        """Negates a condition, unless another operator makes an equal mutant."""
        text = self.source(cursor)
        is_negated = cursor.kind == KIND.UNARY_OPERATOR and text.startswith(b"!")
        if not is_negated and not ONE_EQUALITY.fullmatch(text):
            self.replace(cursor, b"!(" + text + b")", "negate")

    def operands(self, cursor, children):
        between = self.text[children[0].extent.end.offset:children[1].extent.start.offset]
        if re.sub(rb"[()\s]", b"", between) not in CONNECTIVES:
            return
        for child in children:
            self.replace(cursor, b"(" + self.source(child) + b")", "drop_operand")

    def statement(self, cursor):
        text = self.source(cursor)
        is_statement = re.match(rb"\s*;", self.text[cursor.extent.end.offset:])
        if is_statement and cursor.kind not in NO_STATEMENTS and not WITHOUT_EFFECT.match(text):
            self.replace(cursor, b"", "drop_statement")

    def early_returns(self, body):
        statements = list(body.get_children())
        kind = self.cursor.result_type.get_canonical().kind
        if not statements or self.cursor.kind in (KIND.CONSTRUCTOR, KIND.DESTRUCTOR):
            return
        places = {statements[0].extent.start.offset}
        if kind == cindex.TypeKind.VOID:
            # Before the only statement, or before a last one that is an expression: drop_statement does it.
            places.add(statements[-1].extent.start.offset)
            if statements[-1].kind.is_expression():
                places.remove(statements[-1].extent.start.offset)
            returns = [b"return;"]
        elif kind == cindex.TypeKind.BOOL:
            returns = [b"return true;", b"return false;"]
        else:
            returns = [b"return {};"]
        for place in places:
            for early in returns:
                if not self.text[place:].startswith(early):
                    self.add(place, place, early + b" ", "return_early")

    def tail(self):
        """Returns the statement that ends a copy of the body, so that the original does not follow."""
        if self.cursor.kind in (KIND.CONSTRUCTOR, KIND.DESTRUCTOR):
            return "return;"
        kind = self.cursor.result_type.get_canonical().kind
        if kind == cindex.TypeKind.AUTO:
            returns_value = re.search(rb"\breturn\s*[^;\s]", self.source(self.body))
            return "__builtin_trap();" if returns_value else "return;"
        return "return;" if kind == cindex.TypeKind.VOID else "__builtin_trap();"

    def mutants(self, file):
        copies = {}
        body_begin, body_end = self.body.extent.start.offset + 1, self.body.extent.end.offset - 1
        for begin, end, new, operator in sorted(self.edits):
            first = self.text.rfind(b"\n", 0, begin) + 1
            last = self.text.find(b"\n", end)
            original = one_line(self.text[first:last])
            mutated = one_line(self.text[first:begin] + new + self.text[end:last])
            mutant = Mutant(file, self.text.count(b"\n", 0, begin) + 1, self.name, operator, begin, end, new.decode(),
                            original, mutated, body_begin, body_end, self.tail(), 0)
            copies[mutant.key()] = copy = copies.get(mutant.key(), -1) + 1
            yield mutant._replace(copy=copy)


def one_line(text):
    return " ".join(text.decode().split())


def qualified_name(cursor):
    names = []
    while cursor and cursor.kind != KIND.TRANSLATION_UNIT:
        if cursor.kind != KIND.NAMESPACE and cursor.spelling:
            names.insert(0, re.sub(r"<.*>$", "", cursor.spelling))
        cursor = cursor.semantic_parent
    return "::".join(names)


def excluded_ranges(tokens):
    """Returns the offsets of assert(...) and the like."""
    ranges, index = [], 0
    while index + 1 < len(tokens):
        if EXCLUDED_CALL.fullmatch(tokens[index].spelling) and tokens[index + 1].spelling == "(":
            begin, depth = tokens[index].extent.start.offset, 0
            for index in range(index + 1, len(tokens)):
                depth += {"(": 1, ")": -1}.get(tokens[index].spelling, 0)
                if depth == 0:
                    break
            ranges.append((begin, tokens[index].extent.end.offset))
        index += 1
    return ranges


def bodies(cursor, path):
    """Yields each function that the file defines, and its body."""
    for child in cursor.get_children():
        if child.location.file is None or child.location.file.name != path:
            continue
        if child.kind in FUNCTIONS:
            for part in child.get_children():
                if part.kind == KIND.COMPOUND_STMT and part.extent.start.file.name == path:
                    yield child, part
        elif child.kind in SCOPES:
            yield from bodies(child, path)


def find(file, root, arguments):
    """Returns the mutants of a file below the root. The arguments are those of its compilation."""
    path = str(root / file)
    source, unsaved = path, []
    if file.endswith(".h"):
        source = str(root / "header_of_mutants.cpp")
        unsaved = [(source, f'#include "{file}"\n')]
    unit = cindex.Index.create().parse(source, args=[*arguments, "-UNDEBUG"], unsaved_files=unsaved)
    errors = [str(each) for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
    if errors:
        raise RuntimeError(f"libclang cannot read {file}: {errors[0]}")
    text = (root / file).read_bytes()
    found = []
    for cursor, body in bodies(unit.cursor, path):
        if not cursor.spelling.startswith("assert_"):
            found += Function(unit, cursor, body, text).mutants(file)
    return sorted(set(found))
