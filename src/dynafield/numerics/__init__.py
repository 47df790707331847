"""Pure numerical functions, no physics. Importing this room switches JAX to 64 bits."""

import jax

jax.config.update("jax_enable_x64", True)
