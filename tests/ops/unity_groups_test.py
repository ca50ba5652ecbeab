"""cmake/unity_groups.py: which sources are compiled together."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "cmake" / "unity_groups.py"


def groups(*texts, size=16):
    """The group of each text, in order."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, text in enumerate(texts):
            path = pathlib.Path(folder) / f"{number}.cpp"
            path.write_text(text)
            paths.append(str(path))
        told = subprocess.run(
            [sys.executable, SCRIPT, str(size)], input="\n".join(paths),
            capture_output=True, text=True, check=True).stdout
        found = dict(reversed(line.split()) for line in told.splitlines())
        return [found[path] for path in paths]


def are_together(*texts):
    return len(set(groups(*texts))) == 1


def unnamed(text):
    return "namespace bc {\nnamespace {\n" + text + "\n}\n}\n"


class UnityGroups(unittest.TestCase):
    def test_sources_that_share_no_name(self):
        self.assertTrue(are_together(unnamed("int a() { return 1; }"),
                                     unnamed("int b() { return 1; }")))

    def test_a_name_of_ones_own_in_both(self):
        for text in ["int a() { return 1; }",
                     "constexpr int a = 1;",
                     "constexpr int a[] = {1, 2};",
                     "struct a { int b; };",
                     "struct a : base {};",
                     "enum kind { z, a };",
                     "std::vector<int> a(int n) { return {n}; }",
                     "template <class T> T a(T t) { return t; }"]:
            self.assertFalse(are_together(unnamed(text), unnamed(text)), text)
            self.assertFalse(are_together(unnamed(text), "int f() { return a(); }"),
                             text)
            self.assertFalse(are_together("int f() { return a(); }", unnamed(text)),
                             text)

    def test_a_member_of_the_name_is_another(self):
        self.assertTrue(are_together(unnamed("int a() { return 1; }"),
                                     "int f(s x) { return x.a + y->a + n::a; }"))

    def test_static_functions_and_macros(self):
        self.assertFalse(are_together("static int a() { return 1; }",
                                      "int f() { return a(); }"))
        self.assertFalse(are_together("#define a 1\n", "int a;"))

    def test_an_alias_of_one_meaning(self):
        one, other = "namespace x = bc::one;\n", "namespace x = bc::other;\n"
        self.assertTrue(are_together(one, one))
        self.assertFalse(are_together(one, other))
        self.assertFalse(are_together(one, "int f() { return x(); }"))

    def test_a_whole_namespace_brought_in(self):
        self.assertFalse(are_together("using namespace bc;\n", "int f();"))

    def test_what_is_no_code(self):
        self.assertTrue(are_together(
            unnamed("int a() { return 1; }"),
            '// a\n/* a */ const char* f() { return "a" R"(a)"; }'))

    def test_tests_of_one_macro(self):
        self.assertTrue(are_together(unnamed('TEST_CASE("x") { f(); }'),
                                     unnamed('TEST_CASE("y") { f(); }')))

    def test_no_group_is_larger_than_said(self):
        self.assertEqual(groups(*["int f();"] * 5, size=2),
                         ["0", "0", "1", "1", "2"])


if __name__ == "__main__":
    unittest.main()
