from cmab.arena.entry import Entry as Entry
from cmab.arena.entry import Facts as Facts
from cmab.arena.match import CannotPlay as CannotPlay
from cmab.arena.match import Match as Match
from cmab.arena.match import play as play
from cmab.arena.problem import Instance as Instance
from cmab.arena.problem import Problem as Problem
