"""The guided calibration of the page: a process of its own for as long as somebody calibrates.

It shows the steps of :mod:`robot.calibration`, as the guide in the terminal does. The page's server
hands on what is pressed and what is shown; when the tab goes, it ends the process, and with it
maintenance. What sees and computes is loaded here, so that the server stays small.

    server -> guide   {"do": "open" | "measure" | ..., "page": N, ...}
    guide  -> server  {"page": N, "heading": ..., "buttons": [...], ...}, {"ended": why},
                      {"picture": JPEG in base64}

Each is a line of JSON, through standard input and output.
"""
