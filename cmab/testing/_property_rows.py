"""The reason for each property, the confidence at which a check detects that it fails, and a remedy."""

from __future__ import annotations

# Confidences: an exact check has no false alarms; the others state the probability of one.
EXACT = "exact"
MEAN = "1e-11 per average"
LAW = "1e-10 per comparison"
RATE = "1e-7 per test"
TAILS = "1e-9 per object"

# For all kinds: title, reason, confidence, and what to look at.
SHARED = (
    (
        "process",
        "Other code in the process relies on its settings.",
        EXACT,
        "settings, threads, files",
    ),
    ("output", "Prints and warnings of every call hide important ones.", EXACT, "print, warnings, loggers"),
    (
        "surroundings",
        "The same problem must have the same answer elsewhere.",
        EXACT,
        "environ, cwd, errstate",
    ),
    ("generator", "Other code continues with the same generator.", EXACT, "bit_generator.state"),
    ("interrupts", "Ctrl-C must end a long run.", EXACT, "except clauses without a class, BaseException"),
    ("copies", "Replications run on copies.", EXACT, "__deepcopy__, __getstate__, attributes of the class"),
    (
        "worker",
        "Results must not depend on the number of workers.",
        EXACT,
        "process numbers, hashes",
    ),
    ("instances", "A process may use several instances.", EXACT, "attributes of the class, keys of caches"),
    ("history", "Runs in one process must not affect each other.", EXACT, "tables in classes and modules"),
    ("clock", "A repeated run must give the same results.", EXACT, "time and datetime"),
    ("global randomness", "Only `rng` makes runs repeatable.", EXACT, "np.random.*, random.*"),
    ("determinism", "The same seed must give the same results.", EXACT, "generators made inside a method"),
    ("pickling", "Worker processes receive pickled copies.", EXACT, "locks, files, lambdas, __getstate__"),
    ("growth", "Long runs must fit into memory.", EXACT, "lists that are never emptied"),
    (
        "memory",
        "Runs that share an object must not affect each other.",
        EXACT,
        "attributes written in calls",
    ),
    ("aliasing", "Callers may overwrite what they receive.", EXACT, "returned arrays of the state"),
    ("availability", "Unavailable entries cannot be played.", EXACT, "context.available, solve_within"),
    ("feasibility", "Infeasible super arms cannot be played.", EXACT, "the constraints of the family"),
    ("input", "Callers keep using their arrays.", EXACT, "in-place operations such as sort"),
    (
        "conservation",
        "Statistics that lose or repeat outcomes are biased.",
        EXACT,
        "update: arms, outcomes",
    ),
    ("feedback", "Callers keep using their arrays.", EXACT, "update: copies"),
    ("sequences", "Campaigns mix all calls in any order.", EXACT, "parts of the state that are not saved"),
    (
        "splitting",
        "Outcomes may arrive together or one by one.",
        EXACT,
        "update: pulls, deviations, averages of a report",
    ),
    ("report order", "A report is a set of observations.", EXACT, "sorted arms, positions in the report"),
    ("constant outcomes", "Ties occur in every first round.", EXACT, "tie-breaking, division by a range"),
    ("state", "Only `update` may change the state.", EXACT, "assignments in select and recommend"),
    ("resuming", "Campaigns last longer than processes.", EXACT, "parts of the state that are not saved"),
    ("declaration", "Runs rely on the declared numbers.", EXACT, "the constructor"),
    ("form", "Callers index arrays with answers.", EXACT, "types, repeated entries"),
    ("compiled", "Compiled runs must equal Python runs.", EXACT, "kernel, rule"),
)

ORACLE = (
    ("ties", "Tied means occur in every first round.", EXACT, "comparisons of equal means"),
    ("errors", "An exception ends a run.", EXACT, "the means in the message"),
    ("layout", "Equal numbers must have equal answers.", EXACT, "strides, read-only arrays"),
    ("buffer", "A later call must not change an earlier answer.", EXACT, "reused arrays"),
    ("batch", "Batched runs must equal single runs.", EXACT, "solve_batch"),
    ("duplication", "Replications often meet the same problem.", EXACT, "solve_batch, caches"),
    ("guarantee", "Regret bounds rely on alpha and beta.", RATE, "the means in the message"),
    ("generated", "Rare means occur in long runs.", EXACT, "the means in the message"),
    (
        "neighbours",
        "A better super arm near the answer refutes alpha.",
        EXACT,
        "the message",
    ),
    ("scale", "Indices leave the range of the means.", EXACT, "absolute tolerances, single precision"),
    ("membership", "Environments and sessions rely on is_feasible.", EXACT, "is_feasible"),
    ("rewards", "Rewards are compared and printed.", EXACT, "expected_reward"),
    ("zeros", "-0.0 and 0.0 are equal numbers.", EXACT, "signbit, division by means"),
    ("labels", "Reports identify arms by their names.", EXACT, "labels, arm_labels"),
    ("constancy", "A run reads declarations once.", EXACT, "attributes written in calls"),
    ("streams", "Only draws may depend on the generator.", EXACT, "bit_generator"),
    (
        "triggered",
        "Credit and bounds rely on triggered_arms.",
        EXACT,
        "triggered_arms and probabilities",
    ),
    ("monotonicity", "Optimism relies on it.", EXACT, "expected_reward, is_monotone"),
    ("triggering", "Feedback shows only triggered arms.", EXACT, "triggered_arms"),
    ("smoothness", "Regret bounds rely on it.", EXACT, "smoothness(), jumps of the reward"),
    ("constraints", "Some explorers include and exclude arms.", EXACT, "solve_constrained"),
    ("gaps", "Explorers of families rely on the gaps.", EXACT, "gaps"),
    (
        "optimum bound",
        "Bounds on the regret rely on it.",
        EXACT,
        "optimum_bound",
    ),
    ("root", "Some policies maximise with roots.", EXACT, "solve_root"),
    ("hashing", "Sets of strings have another order in each process.", EXACT, "loops over sets"),
    ("threads", "Threads may share an oracle.", EXACT, "attributes that solve writes"),
)

POLICY = (
    ("late feedback", "Feedback arrives late and in any order.", EXACT, "ticket numbers, reserve"),
    ("reservations", "Sessions reserve tickets, other runs do not.", EXACT, "reserve, update"),
    ("empty feedback", "Some rounds show nothing.", EXACT, "reductions of empty arrays"),
    (
        "context",
        "A part that is ignored leads to wrong choices.",
        EXACT,
        "select: refuse_parts, best_within",
    ),
    ("tickets", "Tickets belong to the session.", EXACT, "update: copies"),
    ("credit", "An outcome belongs to its arm.", EXACT, "update"),
    ("unobserved", "Unseen outcomes are not failures.", EXACT, "update: ticket.super_arm"),
    ("missing reward", "Not every environment shows rewards.", EXACT, "feedback.reward"),
    ("rare states", "An index that is nan selects at random.", EXACT, "divisions, roots and logarithms"),
    (
        "long reports",
        "Sums in few digits stop growing, and small integers overflow.",
        EXACT,
        "dtype of counts and sums",
    ),
    ("late rounds", "Integers overflow without a warning.", EXACT, "products and powers of counts"),
    ("duplication", "Equal evidence must count alike.", EXACT, "positions of arms, leaders"),
    ("relabelling", "The number of an arm carries no information.", LAW, "positions of arms"),
    ("propensity", "Estimates of other policies divide by it.", LAW, "propensity"),
    ("learning", "Feedback must improve the choices.", EXACT, "indices, update"),
    ("exploration", "Arms that are never seen are never found.", EXACT, "unseen arms"),
    ("optimism", "Uncertain arms must not always lose.", EXACT, "the sign of the radius"),
    (
        "limit",
        "Super arms are compared by sums of indices.",
        EXACT,
        "the prior, the posterior, transformations",
    ),
    ("radius", "A good arm must not be lost after bad luck.", EXACT, "roots, powers of counts, factors"),
)

ENVIRONMENT = (
    ("coins", "Policies are compared on the same outcomes.", EXACT, "`round_key`"),
    ("order", "A super arm is a set.", EXACT, "sorted arms, positions in the super arm"),
    ("stream", "Later rounds must not depend on the choice.", EXACT, "draws that depend on the super arm"),
    ("support", "Confidence bounds rely on the support.", EXACT, "support"),
    ("outcomes", "Regret is computed from the means.", MEAN, "play, means"),
    ("triggers", "Only triggered arms are observed.", MEAN, "play, triggering_probabilities"),
    ("rewards", "Regret is computed from expected rewards.", MEAN, "play, expected_reward"),
    ("optimum", "Regret is computed from the optimum.", EXACT, "optimum"),
    ("rounds", "All policies must meet the same rounds.", EXACT, "in_round"),
    ("optima", "Regret is computed from the optimum of each round.", EXACT, "in_round, optimum"),
    ("played rounds", "Rounds must agree with their declared truth.", MEAN, "in_round"),
    ("pulls", "Explorers are judged by the means.", MEAN, "pull, pull_many"),
    ("squares", "Explorers estimate variances from squares.", MEAN, "pull_many"),
    ("large sums", "Explorers request thousands of pulls at once.", MEAN, "pull_many, approximations"),
    ("independence", "Confidence bounds assume independent pulls.", MEAN, "numbers that pulls share"),
    ("pull order", "An outcome belongs to the arm in its place.", MEAN, "sorted arms in pull"),
    ("scale", "Confidence bounds rely on sigma.", MEAN, "sigma"),
    ("tails", "Bounds fail for outcomes with heavier tails.", TAILS, "sigma, standard deviations"),
    ("laws", "Rounds and pulls observe the same arms.", LAW, "play, pull"),
    ("agreement", "Environment and oracle describe one problem.", EXACT, "expected_reward"),
    ("succession", "Confidence bounds assume independent rounds.", MEAN, "numbers that rounds share"),
    ("replay", "A round must not depend on earlier rounds.", EXACT, "counters"),
    ("stationarity", "Rounds must not change the environment.", EXACT, "attributes that play writes"),
)

EXPLORER = (
    ("budget", "A budget is a limit.", EXACT, "pulls, is_done"),
    ("steps", "Runs call step, and sessions is_done and select.", EXACT, "step"),
    ("ending", "Runs of bounded explorers have no limit.", EXACT, "is_bounded, is_done"),
    ("undo", "An undone report must leave no trace.", EXACT, "undo"),
    ("certificates", "A certificate is a proof at level delta.", RATE, "is_done, is_certified, the radius"),
    ("intervals", "Intervals must contain the means.", RATE, "intervals, the radius"),
    ("errors", "The error rate is at most delta.", RATE, "is_done, the radius"),
    ("places", "Answers must follow the outcomes.", RATE, "recommend"),
)
