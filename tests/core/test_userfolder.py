"""The user's configuration folder is where platformdirs says, also where it is not asked."""

import itertools

import platformdirs

from rails.core.app_dirs import config_folder
from tests.rows import walked

HOMES = ["/home/someone", "/home/someone/", "/", "relative", ""]
NAMED = [None, "", " ", "/etc/mine", "/etc/mine/", "relative", "~/x", " /etc/mine ", "/a b"]


@walked(("home", "named"), itertools.product(HOMES, NAMED))
def test_it_is_the_platforms_own_place(monkeypatch, home, named):
    monkeypatch.delenv("AI_RAILS_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", home)
    if named is None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", named)
    assert config_folder() == platformdirs.user_config_path("ai-rails", appauthor=False)
