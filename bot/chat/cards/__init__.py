"""Renderings: values of the desk and the control loop become messages, forms and the Home."""
