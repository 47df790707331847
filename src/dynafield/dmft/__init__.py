"""The solver: dynamical mean-field theory of training.

`solve` plans, `refine` asks for replicas until a tolerance is met, `ensemble` marches them, `grid` chooses
blocks of time, `march` is the compiled loop over `blocks`, and `rows`, `newton`, `closed` are the equations
of a block. `discrete` has what steps need, `results` what is made of a solution, `differentiation` its
derivatives.
"""
