"""Done is proven: what an agent claims is verified by us, on one exact tree, and a receipt says what was seen.

    request      what is to be verified, and how: the plan that the settings and the spec make
    verifiers    the commands that prove a piece of work, for everybody who asks
    verifying    one verification, from the hash before to the hash after
      places       where it is done: a checkout of the exact tree, or the work tree
      carrying     ignored paths that are taken along, by their hash
      commands     prepare, the verifiers, and the criteria that a command decides
      judging      the criteria that a second agent decides: what it is told, and how its answer is read
      protecting   what must be as it was at the baseline, and which paths a glob means
      runners      where test runners keep their settings
      counting     tests that were there and are not any more, and those that are skipped now
    receipt      what came of it, bound to the tree and the spec
      showing      for people

An agent's word is a request. Nothing that it prints is read as a result: exit statuses are our own, and a judgement is
the judge's own words.
"""
