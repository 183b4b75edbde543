"""The dialogs of calibration, independent of a screen.

A dialog is a state machine. A :class:`robot.guide.state.DialogState` is everything that a screen
shows of it, a :class:`robot.guide.state.DialogPress` anything that a person does. The terminal and
the page only draw states and send presses, so both can do the same.

    menu -> list -> placing      move an actuator to a named position
                 -> measurement  let the robot measure, answer it, or set a value by eye
         -> camera               put the frame of a face on the picture
"""
