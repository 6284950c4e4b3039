"""What one client's PrivateRec gradient tells the server, shown on the code that training runs.

The paper calls the gradient post-processing of the noised attention. It is not: back-propagation multiplies by the raw
history again. `title_leak` reads clicked titles off the gradient of the word vectors, `vector_leak` the reader's raw
vector off the gradient of the basis, and `canary` registers the leak with `discreet audit`.
"""
