"""Temporary files are kept in scratch/; one that an agent leaves elsewhere is reported."""

import pytest

from rails.gate.scratch_files import misplaced


def words(text):
    return text.split()


#: What editors, patches and agents leave, in its own name.
LEFTOVERS = words("""
foo.py.bak foo.py.bak2 foo.py~ notes.tmp src/app.py.orig src/app.py.rej .foo.py.swp x.old config.yaml.old .env.bak
app.js.bak.1 a.py.orig.2024-01-02 #foo.py# .#foo.py ~$report.docx .~lock.report.odt# tmp.py tmp temp.txt TMP.md
tmp1.py tmp_2.js scratch.py scratch-3.ts scratch untitled untitled.txt Untitled.ipynb Untitled1.ipynb Untitled-2.md
untitled.3.py delete_me.py deleteme.txt delete-me-2.md test_tmp.py test_tmp123.py test_tmp_4.py
test_temp7.py test_scratch_1.py tmp_probe.txt tmp_test.py tmp-debug.js scratch_check.py temp_output.json tmp_run2.sh
tmp_12.py
tmpa1b2c3d4 tmp3fk2j9xq.py deep/er/tmp.py src/notes.temp Makefile.bak package.json.orig foo.swo
""")
#: A copy, and what it is a copy of.
COPIES = [
    line.split(" < ")
    for line in """
foo_old.py < foo.py
foo_copy.py < foo.py
foo-copy.py < foo.py
foo copy.py < foo.py
foo copy 2.py < foo.py
foo - Copy.py < foo.py
foo - Copy (2).py < foo.py
foo (1).py < foo.py
foo(1).py < foo.py
foo_backup.py < foo.py
foo_bak.py < foo.py
foo.bak.py < foo.py
foo_orig.py < foo.py
foo_original.py < foo.py
foo_tmp.py < foo.py
foo_copy2.py < foo.py
foo_old_1.py < foo.py
FOO_OLD.PY < FOO.PY
old_foo.py < foo.py
Copy of foo.py < foo.py
copy-of-foo.py < foo.py
backup_foo.py < foo.py
tmp_app.py < app.py
foo.test_old.ts < foo.test.ts
foo.py.save < foo.py
foo.py.1 < foo.py
foo.py.backup < foo.py
foo.py_copy < foo.py
foo.py.20240101 < foo.py
Makefile_old < Makefile
Dockerfile.backup < Dockerfile
data copy.txt < data.txt
src/app_old.tsx < src/app.tsx
İx_old.py < İx.py
""".strip().splitlines()
]
#: Names that are what they say.
NAMES = """
deep_copy.py db_backup.py scratch_files.py tmp_path.py tmp_path_factory.py template.py templates.html backup.py copy.py
temperature.txt temporal.py temp_sensor.py tempfile.py tmpdir.py tmpfiles.d tmpl.html tmux.conf backup_policy.tf old.py
original.svg copyright.txt COPYING bold.css threshold.py household.py manifold.py scaffold.ts unfold.js foo_old.py
foo_copy.py year-old.md restore_backup.sh pg_backup.sh copy_button.tsx marketing copy.md Lecture (3).md photo(1).jpg
shallow_copy.c zero-copy.rs test_deep_copy.py test_temperature.py test_template.py test_tmpdir.py test_scratch_files.py
test_temp.py v1.py api.v2.py release-1.2.3.md CHANGELOG.1.md libfoo.so.1 foo.1 001_init.sql 20240101_backup_table.py
robots.txt orig_dest.py origin.py rejected.py swap.py .env.local .gitignore index.d.ts scratchpad.tsx scratchcard.py
tmp_cleanup.py tmpstore.py tmpwatch.c untitled_album.py delete_member.py copy_of_record.py prev.py save.py C#.md
"""
NAMES = [*words(NAMES.replace("marketing copy.md Lecture (3).md", "")), "marketing copy.md", "Lecture (3).md"]


def told(verdict):
    return [(finding.path, finding.remedy) for finding in verdict.findings if finding.rule == "misplaced-temporary"]


def test_c14_18_a_temporary_file_outside_of_scratch_is_a_finding_that_says_where_to_put_it(world):
    world.put("data.txt", "x\n")
    names = ["notes.tmp", "src/app.py.bak", "temp.txt", "tmp_probe.txt", "data copy.txt", "x.txt~"]
    verdict = world.judge(*((name, "x\n") for name in names))
    remedies = [f"Write it to scratch/{name.rpartition('/')[2]}, or give it the name of what it is." for name in names]
    assert sorted(told(verdict)) == sorted(zip(names, remedies, strict=True))
    assert verdict.status == "fail"


def test_c14_18_in_scratch_and_under_other_names_nothing_is_said(world):
    names = ("scratch/notes.tmp", "src/scratch/temp.txt", "template.txt", "temperature.txt", "copy.txt", "a_old.txt")
    assert told(world.judge(*((name, "x\n") for name in names))) == []


def test_c14_18_a_file_that_was_there_before_is_left_alone(world):
    assert told(world.judge(("notes.tmp", "a\n", "b\n"))) == []


def test_a_copy_beside_a_new_file_is_one_and_a_file_that_was_renamed_is_none(world):
    assert told(world.judge(("foo.txt", "a\n"), ("foo_old.txt", "b\n")))
    assert told(world.judge(("foo.txt", "a\n", None), ("foo_old.txt", "b\n"))) == []


@pytest.mark.parametrize("folder", ["", "src/"])
def test_leftovers_are_known_by_their_names(folder):
    names = [f"{folder}{name}" for name in LEFTOVERS]
    assert len(names) >= 40
    assert [found.path for found in misplaced(names, lambda _: False)] == names


def test_a_copy_is_known_by_what_stands_beside_it():
    assert len(COPIES) >= 30
    for copy, original in COPIES:
        assert [found.path for found in misplaced([copy], {original}.__contains__)] == [copy]
        assert not list(misplaced([copy], lambda _: False)), copy


def test_words_in_names_are_no_evidence():
    assert len(NAMES) >= 60
    beside = {"foo.ts", "lib/foo.py", "year.py", "README.md"}
    assert [found.path for found in misplaced(NAMES, beside.__contains__)] == []
