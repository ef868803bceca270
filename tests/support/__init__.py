"""What tests of several topics use: texts, runs made up for judges, readers of what farloop writes."""
